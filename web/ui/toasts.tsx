import { signal } from "@preact/signals";
import { Icon } from "./icons.tsx";

export interface Toast {
  readonly tone: "ok" | "bad";
  readonly text: string;
  readonly undo?: () => Promise<void>;
}

const toasts = signal<readonly (Toast & { readonly id: number })[]>([]);
let next = 0;
const SHOWN_MS = 8000;

export function announce(toast: Toast): void {
  next += 1;
  const id = next;
  toasts.value = [...toasts.value.slice(-3), { ...toast, id }];
  setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={`toast toast-${toast.tone}`}>
          <Icon name={toast.tone === "ok" ? "check" : "alert"} />
          <span class="toast-text">{toast.text}</span>
          {toast.undo !== undefined && (
            <button
              type="button"
              class="button small"
              onClick={() => {
                dismiss(toast.id);
                void toast.undo?.();
              }}
            >
              Undo
            </button>
          )}
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
