/** A longer text is rarely there twice. */
const MAX_LENGTH = 64;
const MAX_TEXTS = 20_000;

/** Labels, nodes and accounts of a cluster's objects are few texts, many times: what it returns for equal ones is in memory once. */
export function createSharedTexts(): (text: string) => string {
  let known = new Map<string, string>();
  return (text) => {
    if (text.length > MAX_LENGTH) return text;
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= MAX_TEXTS) known = new Map();
    known.set(text, text);
    return text;
  };
}
