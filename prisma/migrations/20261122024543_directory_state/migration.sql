-- CreateTable
CREATE TABLE "directory_state" (
    "id" INTEGER NOT NULL,
    "version" INTEGER NOT NULL,
    "file_revision" INTEGER,

    CONSTRAINT "directory_state_pkey" PRIMARY KEY ("id")
);
