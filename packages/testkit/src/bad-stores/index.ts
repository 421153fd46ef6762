export { badForkStores } from "./bad-fork-stores.ts";
export { badListStores } from "./bad-list-stores.ts";
export { badRequestStores } from "./bad-request-stores.ts";
export { badStores, changed } from "./bad-stores.ts";
export { badWithdrawals } from "./bad-withdrawals.ts";
