# FOLDER: copies a tree, and prints what on the terminal whose name is in FOLDER/name.
cd "$1" || exit
until [ -s name ]; do sleep 0.1; done
exec tar -cvf copy.tar tree >"$(cat name)"
