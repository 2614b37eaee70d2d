/** Frames of this folder are the logger itself, not its caller. Bundled frames carry their source's path once source maps are on. */
const OWN_FRAMES = /[/\\]base[/\\]log[/\\](log|call-site)\.ts/;

/** `dir/file:line` of the code that logs. */
export function callerOf(): string | undefined {
  for (const frame of frames()) {
    const [, path = "", line = ""] = /\(?([^()\s]+):(\d+):\d+\)?$/.exec(frame) ?? [];
    if (path !== "") return `${path.split(/[/\\]/).slice(-2).join("/")}:${line}`;
  }
  return undefined;
}

export function stackOf(): string {
  return frames().join("\n");
}

function frames(): string[] {
  const lines = (new Error("call site").stack ?? "").split("\n").slice(1);
  const outer = lines.filter((line) => !OWN_FRAMES.test(line));
  return outer.map((line) => line.trim());
}
