import { useEffect, useRef } from "preact/hooks";
import { ago, clock, percent, rate } from "../format.ts";
import { now, session } from "../state/live.ts";
import { colors } from "../state/preferences.ts";
import { live, marks, pause, play, playback, seek, totals } from "../state/replay.ts";
import { drawCanvas } from "../ui/draw-canvas.ts";
import { Icon } from "../ui/icons.tsx";
import { readPalette } from "./draw-edges.ts";

/** Ten minutes of the whole mesh, to look at and to go back in. */
export function Timeline() {
  const state = playback.value;
  const span = session.value?.historyMs ?? 600_000;
  const end = totals.value.at(-1)?.at ?? now.value;
  const start = end - span;
  const at = state.mode === "live" ? end : state.at;
  const total = [...totals.value].reverse().find((candidate) => candidate.at <= at);
  return (
    <section class={`timeline timeline-${state.mode}`} aria-label="Last ten minutes">
      <div class="timeline-buttons">
        {state.mode === "live" ? (
          <button type="button" class="button small" onClick={pause}>
            <Icon name="pause" /> Pause
          </button>
        ) : (
          <button type="button" class="button small primary" onClick={live}>
            <Icon name="zap" /> Live
          </button>
        )}
        <button
          type="button"
          class="icon-button framed"
          aria-label={state.mode === "playing" ? "Stop the replay" : "Replay at ten times the speed"}
          title={state.mode === "playing" ? "Stop the replay" : "Replay at ten times the speed"}
          onClick={() => (state.mode === "playing" ? seek(state.at) : play())}
        >
          <Icon name={state.mode === "playing" ? "pause" : "history"} />
        </button>
      </div>
      <div class="timeline-track">
        <Area start={start} end={end} />
        {marks.value
          .filter((mark) => mark.at >= start)
          .map((mark) => (
            <button
              type="button"
              key={`${mark.at} ${mark.text}`}
              class={`mark mark-${mark.kind}`}
              style={{ left: `${((mark.at - start) / span) * 100}%` }}
              aria-label={`${clock(mark.at)} ${mark.text}`}
              title={`${clock(mark.at)} ${mark.text}`}
              onClick={() => seek(mark.at)}
            />
          ))}
        <input
          class="scrub"
          type="range"
          aria-label="Moment that is shown"
          aria-valuetext={state.mode === "live" ? "now" : clock(at)}
          min={start}
          max={end}
          step={1000}
          value={at}
          onInput={(event) => seek(Number(event.currentTarget.value))}
        />
      </div>
      <div class="timeline-figures">
        <strong>{state.mode === "live" ? "Live" : clock(at)}</strong>
        <span>
          {state.mode !== "live" && `${ago(at, end)} · `}
          {total === undefined
            ? ""
            : `${rate(total.rps)}/s${total.errorShare > 0 ? `, ${percent(total.errorShare)} errors` : ""}`}
        </span>
      </div>
    </section>
  );
}

function Area({ start, end }: { readonly start: number; readonly end: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const list = totals.value;
  colors.value;
  useEffect(() =>
    drawCanvas(canvas.current, (context, { width, height }) => {
      const palette = readPalette(context.canvas);
      const top = Math.max(1, ...list.map((total) => total.rps)) * 1.15;
      const x = (at: number) => ((at - start) / Math.max(1, end - start)) * width;
      const y = (value: number) => height - (value / top) * (height - 4);
      // A gap in the figures is a gap in the picture.
      let previous: (typeof list)[number] | undefined;
      for (const total of list) {
        const last = previous;
        previous = total;
        if (last === undefined || total.at - last.at > 15_000) continue;
        const [left, right] = [x(last.at), x(total.at)];
        context.globalAlpha = 0.22;
        context.fillStyle = palette.accent;
        context.fillRect(left, y(total.rps), right - left + 0.5, height);
        context.globalAlpha = 1;
        context.fillRect(left, y(total.rps), right - left + 0.5, 1.5);
        const errors = total.rps * total.errorShare;
        if (errors === 0) continue;
        context.fillStyle = palette.bad;
        const share = Math.max(2, height - y(errors));
        context.fillRect(left, height - share, right - left + 0.5, share);
      }
    }),
  );
  return <canvas ref={canvas} class="timeline-canvas" aria-hidden="true" />;
}
