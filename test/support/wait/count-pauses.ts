/** A busy machine may pause between two changes for longer than the debounce time, and each pause is a push of its own. */
export function countPauses(debounceMs: number): { readonly count: number; tick(): void } {
  let last = performance.now();
  const pauses = {
    count: 0,
    tick() {
      if (performance.now() - last >= debounceMs) pauses.count += 1;
      last = performance.now();
    },
  };
  return pauses;
}
