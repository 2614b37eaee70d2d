/** Several problems in the form operators know: a count, one line each, and two newlines. */
export function formatErrorList(messages: readonly string[]): string {
  const heading = messages.length === 1 ? "1 error occurred:" : `${messages.length} errors occurred:`;
  return `${heading}\n${messages.map((message) => `\t* ${message}`).join("\n")}\n\n`;
}
