-- AlterTable
ALTER TABLE "device_sessions" ADD COLUMN     "is_browser" BOOLEAN NOT NULL DEFAULT false;

-- Browsers that signed in before were given ids that start with "web-".
UPDATE "device_sessions" SET "is_browser" = true WHERE "device_id" LIKE 'web-%';
