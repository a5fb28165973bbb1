# Asks for a component, in a project with the languages that are given.
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES ${LANGUAGES})
find_package(PgflowSDK 1.0 REQUIRED COMPONENTS ${COMPONENT})
