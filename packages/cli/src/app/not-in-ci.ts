// Replaces the package of that name when the program is bundled: see scripts/bundle-cli.mjs.

export default false;
