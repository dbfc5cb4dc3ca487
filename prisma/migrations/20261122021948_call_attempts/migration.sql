-- AlterTable
ALTER TABLE "call_events" ADD COLUMN     "attempts" TEXT;
