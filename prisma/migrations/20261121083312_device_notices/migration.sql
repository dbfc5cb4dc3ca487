-- AlterTable
ALTER TABLE "device_sessions" ADD COLUMN     "notice_taken_at" TIMESTAMPTZ(3);

-- The owners of the sessions that there are have been told.
UPDATE "device_sessions" SET "notice_taken_at" = "created_at";
