/** Numbers as people read them: three figures are enough to act on. */

export function rate(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond < 0.1) return "<0.1";
  if (perSecond < 10) return perSecond.toFixed(1);
  if (perSecond < 10_000) return Math.round(perSecond).toString();
  return `${(perSecond / 1000).toFixed(0)}k`;
}

export function percent(share: number): string {
  const value = share * 100;
  if (value === 0) return "0%";
  if (value < 0.1) return "<0.1%";
  if (value < 10 && Math.abs(value - Math.round(value)) >= 0.05) return `${value.toFixed(1)}%`;
  return `${Math.round(value)}%`;
}

export function milliseconds(value: number): string {
  if (value < 1) return "<1 ms";
  if (value < 10) return `${value.toFixed(1)} ms`;
  if (value < 1000) return `${Math.round(value)} ms`;
  return `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)} s`;
}

export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB"];
  let [left, unit] = [value, 0];
  while (left >= 1000 && unit < units.length - 1) {
    left /= 1000;
    unit += 1;
  }
  return `${left < 10 && unit > 0 ? left.toFixed(1) : Math.round(left)} ${units[unit]}`;
}

/** `42 s`, `3 min`, `2 h 5 min`, `12 days`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.round(hours / 24)} days`;
}

export function ago(at: number, now: number): string {
  return now - at < 1500 ? "just now" : `${duration(now - at)} ago`;
}

export function clock(at: number): string {
  return new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
