import { detectAws, readAws } from "./aws.ts";
import { detectAzure, readAzure } from "./azure.ts";
import { detectGcp, readGcp } from "./gcp.ts";
import type { Cloud } from "./platform-access.ts";

export { cloudAccess } from "./platform-access.ts";

export const CLOUDS: readonly Cloud[] = [
  { name: "gcp", title: "GCP", detect: detectGcp, read: readGcp },
  { name: "aws", title: "AWS", detect: detectAws, read: readAws },
  { name: "azure", title: "Azure", detect: detectAzure, read: readAzure },
];
