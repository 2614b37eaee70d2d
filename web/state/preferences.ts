import { computed, effect, signal } from "@preact/signals";

/** A signal whose value survives the page, as far as the browser allows. */
function remembered<T>(name: string, initial: T) {
  const key = `console.${name}`;
  const value = signal<T>(read(key) ?? initial);
  effect(() => write(key, value.value));
  return value;
}

function read<T>(key: string): T | undefined {
  try {
    const text = localStorage.getItem(key);
    return text === null ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
}

function write(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // A browser that stores nothing: the setting lasts as long as the page.
  }
}

export type Theme = "system" | "dark" | "light";
export const theme = remembered<Theme>("theme", "system");
/** Cards that the user does not want to see, by node id. */
export const hidden = remembered<readonly string[]>("hidden", []);
export const hideIdle = remembered("hide-idle", false);
export const grouped = remembered("grouped", false);
export const guideSeen = remembered("guide-seen", false);

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const systemTheme = signal<"dark" | "light">(systemDark.matches ? "dark" : "light");
systemDark.addEventListener("change", () => {
  systemTheme.value = systemDark.matches ? "dark" : "light";
});

/** What is really drawn. */
export const colors = computed(() => (theme.value === "system" ? systemTheme.value : theme.value));

effect(() => {
  document.documentElement.dataset.theme = colors.value;
});
