-- AlterTable
ALTER TABLE "backends" ADD COLUMN     "base_path" TEXT;
