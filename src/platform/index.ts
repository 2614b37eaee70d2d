export { startPlatformDetection } from "./detect-platform.ts";
export { NO_PLATFORM, type PlatformInfo, type PlatformSettings } from "./platform-info.ts";
export { waitForPlatform } from "./wait-for-platform.ts";
