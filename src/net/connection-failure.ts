import { errorMessage } from "../base/coded-error.ts";

/** One readable line of why a connection failed. OpenSSL's own messages carry pointers and source paths; their reason is enough. */
export function connectionFailureText(failure: unknown): string {
  // Happy eyeballs tries several addresses and reports them all in an error without a message.
  if (failure instanceof AggregateError) return failure.errors.map(connectionFailureText).join(", ");
  const reason: unknown = failure instanceof Error ? Reflect.get(failure, "reason") : undefined;
  return typeof reason === "string" && reason !== "" ? reason : errorMessage(failure);
}
