-- AlterTable
ALTER TABLE "browser_sessions" ADD COLUMN     "device_session_id" UUID;

-- AlterTable
ALTER TABLE "device_logins" ALTER COLUMN "invitation_id" DROP NOT NULL;

-- CreateIndex
CREATE INDEX "browser_sessions_device_session_id_idx" ON "browser_sessions"("device_session_id");

-- AddForeignKey
ALTER TABLE "browser_sessions" ADD CONSTRAINT "browser_sessions_device_session_id_fkey" FOREIGN KEY ("device_session_id") REFERENCES "device_sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE;
