/** Made when it is first asked for, and once; a failure is not memoized. */
export function memoize<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
