/** `type.googleapis.com/` names that more than one part of the document uses. */
export const typeUrl = (name: string) => `type.googleapis.com/${name}`;

/** A named extension with its typed configuration. */
export function extension(name: string, type: string, config: Readonly<Record<string, unknown>> = {}) {
  return { name, typed_config: { "@type": typeUrl(type), ...config } };
}
