-- AlterTable
ALTER TABLE "admin_backends" ADD COLUMN     "base_path" TEXT NOT NULL DEFAULT '/v1';

-- AlterTable
ALTER TABLE "backends" ADD COLUMN     "base_path" TEXT NOT NULL DEFAULT '/v1';
