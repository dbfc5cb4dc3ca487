-- AlterTable
ALTER TABLE "backends" ADD COLUMN     "credential_header" TEXT,
ADD COLUMN     "headers" JSONB NOT NULL DEFAULT '{}';
