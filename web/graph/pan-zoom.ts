/** What of the graph is in sight: a point of the graph (x, y) is drawn at (x * scale + left, y * scale + top). */
export interface Viewport {
  readonly scale: number;
  readonly left: number;
  readonly top: number;
}

const MIN_SCALE = 0.12;
const MAX_SCALE = 2;

/** The point under the pointer stays under it. */
export function zoomAt(view: Viewport, factor: number, at: { readonly x: number; readonly y: number }): Viewport {
  const scale = Math.min(MAX_SCALE, Math.max(MIN_SCALE, view.scale * factor));
  const ratio = scale / view.scale;
  return { scale, left: at.x - (at.x - view.left) * ratio, top: at.y - (at.y - view.top) * ratio };
}

/** Everything in sight and in the middle; never larger than life. */
export function fitInto(
  box: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
  size: { readonly width: number; readonly height: number },
  margin: { readonly top: number; readonly side: number; readonly bottom: number },
): Viewport {
  const [width, height] = [size.width - 2 * margin.side, size.height - margin.top - margin.bottom];
  const scale = Math.min(
    1,
    Math.max(MIN_SCALE, Math.min(width / Math.max(1, box.width), height / Math.max(1, box.height))),
  );
  return {
    scale,
    left: margin.side + (width - box.width * scale) / 2 - box.x * scale,
    top: margin.top + (height - box.height * scale) / 2 - box.y * scale,
  };
}
