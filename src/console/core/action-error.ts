/** An action that cannot be done as it was asked for; the message says what is allowed. */
export class ActionError extends Error {}
