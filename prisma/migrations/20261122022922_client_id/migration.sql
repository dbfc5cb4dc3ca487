-- AlterTable
ALTER TABLE "device_logins" ADD COLUMN     "client_id" TEXT;

-- AlterTable
ALTER TABLE "device_sessions" ADD COLUMN     "client_id" TEXT;
