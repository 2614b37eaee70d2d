import { silentLogger } from "../../../src/base/logger.ts";
import type { WebhookSettings } from "../../../src/settings/discovery-settings.ts";
import { readWebhookSettings } from "../../../src/settings/webhooks.ts";

/** The settings of webhooks that an environment gives, whatever files are around. */
export function webhookSettings(
  environment: Readonly<Record<string, string>> = {},
  files?: WebhookSettings["injectionFiles"],
): WebhookSettings {
  return readWebhookSettings(environment, silentLogger, files, () => false);
}
