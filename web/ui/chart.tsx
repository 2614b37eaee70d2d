import { useEffect, useRef } from "preact/hooks";
import { readPalette } from "../graph/draw-edges.ts";
import { colors } from "../state/preferences.ts";
import { drawCanvas } from "./draw-canvas.ts";

export interface ChartPoint {
  readonly at: number;
  readonly value: number;
  /** Drawn as a second line; the 99th percentile beside the median, for example. */
  readonly upper?: number | undefined;
}

/** A small line over time with its largest value written beside it. */
export function Chart(props: {
  readonly label: string;
  readonly points: readonly ChartPoint[];
  readonly spanMs: number;
  readonly tone?: "accent" | "bad";
  readonly format: (value: number) => string;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { points, spanMs, tone = "accent" } = props;
  colors.value;
  const top = Math.max(0, ...points.map((point) => Math.max(point.value, point.upper ?? 0)));
  useEffect(() =>
    drawCanvas(canvas.current, (context, { width, height }) => {
      const palette = readPalette(context.canvas);
      const end = points.at(-1)?.at ?? 0;
      const x = (at: number) => width - ((end - at) / spanMs) * width;
      const y = (value: number) => height - 2 - (value / Math.max(top, 1e-9)) * (height - 6);
      const line = (value: (point: ChartPoint) => number | undefined, color: string, alpha: number) => {
        context.strokeStyle = color;
        context.globalAlpha = alpha;
        context.lineWidth = 1.5;
        context.beginPath();
        let last: number | undefined;
        for (const point of points) {
          const shown = value(point);
          if (shown === undefined) continue;
          if (last === undefined || point.at - last > 15_000) context.moveTo(x(point.at), y(shown));
          else context.lineTo(x(point.at), y(shown));
          last = point.at;
        }
        context.stroke();
      };
      line((point) => point.upper, palette.muted, 0.8);
      line((point) => point.value, tone === "bad" ? palette.bad : palette.accent, 1);
    }),
  );
  return (
    <figure class="chart">
      <figcaption>
        <span>{props.label}</span>
        <span class="quiet">max {props.format(top)}</span>
      </figcaption>
      <canvas ref={canvas} aria-hidden="true" />
    </figure>
  );
}
