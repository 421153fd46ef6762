// A chat in React: text as it streams, a stop button, approvals.
// region chat
import { approve, type Client, reject } from "@belay/client";
import { useInbox, useThread } from "@belay/client/react";

export function Chat({ belay, id }: { belay: Client; id: string }) {
  const { messages, state, send, interrupt } = useThread(belay, id);
  const inbox = useInbox(belay, { threadId: id });

  return (
    <main>
      {messages.map(({ id: key, role, parts }) => (
        <p key={key} className={role}>
          {parts.map((part) => ("text" in part ? part.text : ""))}
        </p>
      ))}
      {inbox.items.map((item) => (
        <p key={item.id}>
          {item.reason}
          <button type="button" onClick={() => inbox.answer(item, approve())}>
            Yes
          </button>
          <button type="button" onClick={() => inbox.answer(item, reject("not now"))}>
            No
          </button>
        </p>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send(String(new FormData(event.currentTarget).get("text")));
          event.currentTarget.reset();
        }}
      >
        <input name="text" />
        {state === "running" && (
          <button type="button" onClick={() => interrupt()}>
            Stop
          </button>
        )}
      </form>
    </main>
  );
}
// endregion
