// The session of a scenario's person: reports a wish to drop the shown text.

import type { Session } from "../runner/front/session.ts";
import type { InterruptOptions } from "../runner/given/options.ts";

export function observedSession<Out>(session: Session<Out>, rolledBack: () => void): Session<Out> {
  const interrupt = (options: InterruptOptions = {}) => {
    if (options.rollbackPartial) rolledBack();
    return session.interrupt(options);
  };
  return new Proxy(session, {
    get(_, name) {
      if (name === "interrupt") return interrupt;
      const value: unknown = Reflect.get(session, name, session);
      return typeof value === "function" ? value.bind(session) : value;
    },
  });
}
