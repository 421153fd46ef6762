import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import "./look/style.css";
import { startSettings } from "./look/settings.ts";
import { enterByFragment } from "./shell/login.tsx";

startSettings();
const problem = await enterByFragment();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App loginProblem={problem} />
  </StrictMode>,
);
