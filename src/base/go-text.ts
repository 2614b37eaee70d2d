/** UTF-8 byte order, which differs from JavaScript's for characters outside the basic plane. */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const [a, b] = [left.charCodeAt(index), right.charCodeAt(index)];
    if (a !== b) return surrogatesLast(a) - surrogatesLast(b);
  }
  return left.length - right.length;
}

function surrogatesLast(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

/** Half a surrogate pair is not a character; encoders of UTF-8 put the replacement character there. */
export function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, "\ufffd");
}
