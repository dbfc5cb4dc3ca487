-- AlterTable
ALTER TABLE "models" ADD COLUMN     "aliases" TEXT[] DEFAULT ARRAY[]::TEXT[];
