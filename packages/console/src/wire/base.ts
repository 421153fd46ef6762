// The address of the server, from this page: the script lies in `<base>/assets/`, so its own address gives the base path.

/** The base path without a slash at its end: "" or "/belay". */
export const basePath = import.meta.env.DEV
  ? ""
  : new URL(/* @vite-ignore */ "..", import.meta.url).pathname.replace(/\/$/, "");
