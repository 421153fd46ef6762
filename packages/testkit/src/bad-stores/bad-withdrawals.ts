// Stores that take answers back wrongly, in one way each, and the case of the suite that catches it.

import type { BadStore } from "./bad-stores.ts";

const BACK = "an answer can be taken back until it is consumed, with any owner of the thread, and then be sent again";

export const badWithdrawals: Record<string, BadStore> = {
  "keeps an answer that its sender takes back": {
    change: (store) => ({
      async withdraw(key, commandKey) {
        const found = (await store.load(key))?.commands.find((each) => each.key === commandKey);
        return found?.kind === "answer" ? true : store.withdraw(key, commandKey);
      },
    }),
    caught: BACK,
  },
  "keeps the key of an answer that its sender took back": {
    change: (store) => {
      const back = new Set<string>();
      return {
        async withdraw(key, commandKey) {
          const done = await store.withdraw(key, commandKey);
          if (done) back.add(JSON.stringify([key.tenant, key.threadId]) + commandKey);
          return done;
        },
        send: async (key, command) =>
          !back.has(JSON.stringify([key.tenant, key.threadId]) + command.key) && store.send(key, command),
      };
    },
    caught: BACK,
  },
};
