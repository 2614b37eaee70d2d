/** Freezes plain objects and arrays all the way down; instances of classes (secrets, promises, functions) stay as they are. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  const prototype = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value;
  Object.freeze(value);
  // Frozen are thousands of objects at once: a list of the members of each would take longer than the freezing.
  for (const name in value) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (typeof member === "object" && member !== null) deepFreeze(member);
  }
  return value;
}
