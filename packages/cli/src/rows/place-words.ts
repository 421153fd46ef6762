import { homedir } from "node:os";

/** A folder as people write it: ~ stands for their own. */
export function placeWords(folder: string): string {
  const home = homedir();
  return folder === home || folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder;
}
