import { render } from "preact";
import { App } from "./app.tsx";
import { startLayout } from "./graph/scene.ts";
import { startLive } from "./state/live.ts";
import { startReplay } from "./state/replay.ts";
import { followAddress } from "./state/selection.ts";

followAddress();
startLive();
startReplay();
startLayout();
const root = document.getElementById("console");
if (root !== null) render(<App />, root);
