import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import "./look/style.css";
import { currentSettings, startSettings } from "./look/settings.ts";
import { enterByFragment } from "./shell/login.tsx";
import { loadTexts } from "./texts/texts.ts";

startSettings();
const [problem] = await Promise.all([enterByFragment(), loadTexts(currentSettings().language)]);
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App loginProblem={problem} />
  </StrictMode>,
);
