-- CreateEnum
CREATE TYPE "Dialect" AS ENUM ('chat', 'responses', 'messages');

-- CreateEnum
CREATE TYPE "CredentialHeader" AS ENUM ('bearer', 'x-api-key');

-- AlterTable
ALTER TABLE "models" ADD COLUMN     "caps" JSONB NOT NULL DEFAULT '{}',
ADD COLUMN     "context_window" INTEGER,
ADD COLUMN     "serve" JSONB NOT NULL DEFAULT '[]';

-- CreateTable
CREATE TABLE "backends" (
    "name" TEXT NOT NULL,
    "dialects" "Dialect"[],
    "url" TEXT,
    "credential_env" TEXT,
    "credential_file" TEXT,
    "credential_as" "CredentialHeader",

    CONSTRAINT "backends_pkey" PRIMARY KEY ("name")
);
