import { sameElements } from "../same-elements.ts";
import type { OutboundContent } from "../scopes/outbound-content.ts";

/** How what one scope shows differs from what it showed before. */
export interface ContentDifference {
  /** Some service that both have is under another rule. */
  readonly hasOtherDestinationRules: boolean;
  readonly hasOtherVirtualServices: boolean;
  /** Some service came, went, is another than before or counts in another order. */
  readonly hasOtherServices: boolean;
}

/** Proxies alike share their contents, so that the difference of two is found once for all of them. Neither is held by it. */
const found = new WeakMap<OutboundContent, WeakMap<OutboundContent, ContentDifference>>();

const NO_DIFFERENCE: ContentDifference = {
  hasOtherDestinationRules: false,
  hasOtherVirtualServices: false,
  hasOtherServices: false,
};

export function contentDifference(content: OutboundContent, before: OutboundContent): ContentDifference {
  if (content === before) return NO_DIFFERENCE;
  const known = found.get(content)?.get(before);
  if (known !== undefined) return known;
  const difference = {
    hasOtherDestinationRules: someDiffers(content.rules, before.rules),
    hasOtherVirtualServices: !sameVirtualServices(content, before),
    hasOtherServices: !sameElements(content.services, before.services),
  };
  const differences = found.get(content) ?? new WeakMap<OutboundContent, ContentDifference>();
  found.set(content, differences.set(before, difference));
  return difference;
}

function someDiffers(now: ReadonlyMap<string, unknown>, before: ReadonlyMap<string, unknown>): boolean {
  for (const [key, value] of now) if (before.has(key) && before.get(key) !== value) return true;
  return false;
}

function sameVirtualServices({ egress }: OutboundContent, { egress: before }: OutboundContent): boolean {
  if (egress === before) return true;
  if (egress.length !== before.length) return false;
  return egress.every(({ virtualServices }, at) => sameElements(virtualServices, before[at]?.virtualServices ?? []));
}
