/** Draws at the size that the element has on the screen, in its pixels. Nothing where it is not shown. */
export function drawCanvas(
  element: HTMLCanvasElement | null,
  draw: (context: CanvasRenderingContext2D, size: { readonly width: number; readonly height: number }) => void,
): void {
  const context = element?.getContext("2d");
  if (element === null || context === null || context === undefined) return;
  const { width, height } = element.getBoundingClientRect();
  const ratio = Math.min(2, devicePixelRatio);
  element.width = Math.round(width * ratio);
  element.height = Math.round(height * ratio);
  context.scale(ratio, ratio);
  draw(context, { width, height });
}
