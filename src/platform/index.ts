export { startPlatformDetection, waitForPlatform } from "./detect-platform.ts";
export { NO_PLATFORM, type PlatformInfo, type PlatformSettings } from "./platform-info.ts";
