/** Whole seconds with the zone of the place: "2026-03-01T12:00:00+01:00", "Z" for UTC. `offsetMinutes` is east of Greenwich. */
export function formatRfc3339(timeMs: number, offsetMinutes: number): string {
  const local = new Date(timeMs + offsetMinutes * 60_000).toISOString().slice(0, 19);
  return offsetMinutes === 0 ? `${local}Z` : `${local}${formatOffset(offsetMinutes)}`;
}

function formatOffset(minutes: number): string {
  const size = Math.abs(minutes);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
