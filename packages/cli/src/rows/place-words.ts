import { homedir } from "node:os";

/** Returns a folder as people write it, with ~ for their home folder. */
export function placeWords(folder: string): string {
  const home = homedir();
  return folder === home || folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder;
}
