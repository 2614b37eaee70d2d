export type ContentEncoding = "zstd" | "gzip";

/** The best encoding both sides know; zstd on ties. Names that are unknown here, `*` and `identity` among them, do not count. */
export function chooseEncoding(
  header: string | undefined,
  supported: readonly ContentEncoding[],
): ContentEncoding | undefined {
  let best: { readonly name: ContentEncoding; readonly quality: number } | undefined;
  for (const item of (header ?? "").split(",")) {
    const [rawName = "", ...parameters] = item.split(";").map((part) => part.trim());
    const name = supported.find((known) => known === rawName.toLowerCase());
    const quality = qualityOf(parameters);
    if (name === undefined || quality <= 0) continue;
    if (best === undefined || quality > best.quality || (quality === best.quality && name === "zstd"))
      best = { name, quality };
  }
  return best?.name;
}

/** 0 rules an encoding out, and so does text that is no number. */
function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => /^q\s*=/i.test(parameter));
  if (given === undefined) return 1;
  const text = given.slice(given.indexOf("=") + 1).trim();
  return /^\d*\.?\d+$|^\d+\.$/.test(text) ? Number(text) : 0;
}
