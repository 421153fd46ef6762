import { Key } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { useTexts } from "../texts/texts.ts";

export function KeyOverview({ onClose }: { onClose(): void }) {
  const t = useTexts();
  const { keys } = t;
  const groups: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
    [
      keys.everywhere,
      [
        ["g i", t.nav.inbox],
        ["g t", t.nav.threads],
        ["g a", t.nav.agents],
        ["g p", t.nav.permissions],
        ["mod+k", keys.palette],
        ["/", keys.filter],
        ["j k", keys.move],
        ["Enter", keys.open],
        ["x", keys.select],
        ["Escape", keys.escape],
      ],
    ],
    [
      keys.thread,
      [
        ["mod+.", keys.stop],
        ["mod+shift+.", keys.stopOptions],
        ["c", keys.resume],
        ["s", keys.say],
        ["f", keys.fork],
      ],
    ],
    [
      keys.card,
      [
        ["a", keys.approve],
        ["e", keys.edit],
        ["r", keys.reject],
        ["n", keys.note],
        ["u", keys.undo],
      ],
    ],
  ];
  return (
    <Dialog title={keys.title} onClose={onClose}>
      <div className="grid gap-4 mt-3">
        {groups.map(([title, rows]) => (
          <section key={title}>
            <h3 className="label mb-1">{title}</h3>
            <dl className="grid grid-cols-[88px_1fr] gap-y-1 items-center">
              {rows.map(([names, words]) => (
                <div className="contents" key={names}>
                  <dt className="row gap-1">
                    {names.split(" ").map((name) => (
                      <Key key={name} name={name} />
                    ))}
                  </dt>
                  <dd className="dim">{words}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <p className="small faint">{keys.never}</p>
      </div>
    </Dialog>
  );
}
