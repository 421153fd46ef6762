// The types of the generated pages: scripts/build-console.mjs makes the module beside this file.

/** The one HTML page. Each `__BASE__` in it is replaced by the base path, with a slash at both ends. */
export declare const page: string;

/** Scripts, styles and icons, by their path below the base. `gzip` is base64. */
export declare const assets: Readonly<
  Record<string, { readonly type: string; readonly etag: string; readonly gzip: string }>
>;
