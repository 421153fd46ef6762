// The door to the demo: the tour behind `belay serve --demo`.

export { crashDemo } from "./crash-demo.ts";
export { type Demo, type DemoSettings, startDemo } from "./demo-server.ts";
