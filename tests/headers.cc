// Gives the headers that tests share a program to be precompiled for.
