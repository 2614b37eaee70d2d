/** True when no more than this percentage of the root's life is left. */
export function isRootDue(
  root: { readonly notBefore: Date; readonly notAfter: Date },
  gracePercent: number,
  now: Date,
): boolean {
  const life = root.notAfter.getTime() - root.notBefore.getTime();
  return root.notAfter.getTime() - now.getTime() <= (life * gracePercent) / 100;
}
